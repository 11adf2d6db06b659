"""An AWS on this machine: ministack, the real sam build and deploy, and a stand-in for Pipes."""
