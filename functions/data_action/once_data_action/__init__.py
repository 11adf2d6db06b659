"""The data action: decides if an event may be sent now, sends it, and says what follows."""
