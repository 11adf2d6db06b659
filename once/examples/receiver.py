"""Receives what `once dev --forward` sends, and verifies it as Standard Webhooks says."""

import base64
import hashlib
import hmac
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

SECRET = base64.b64decode(os.environ["SIGNING_SECRET"].removeprefix("whsec_"))


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message, sent = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        digest = hmac.digest(SECRET, f"{message}.{sent}.".encode() + body, hashlib.sha256)
        expected = f"v1,{base64.b64encode(digest).decode()}"
        is_signed = hmac.compare_digest(expected, self.headers["webhook-signature"])
        is_verified = is_signed and abs(time.time() - int(sent)) < 300
        print("verified" if is_verified else "REFUSED", body.decode(), flush=True)
        self.send_response(204 if is_verified else 401)
        self.end_headers()


HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver).serve_forever()
