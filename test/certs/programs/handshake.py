"""One TLS handshake under OpenSSL's strict X.509 rules: handshake.py <port> <host> <CA file>."""

import socket
import ssl
import sys

port, host, ca_file = int(sys.argv[1]), sys.argv[2], sys.argv[3]
context = ssl.create_default_context(cafile=ca_file)
context.verify_flags |= ssl.VERIFY_X509_STRICT
with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
    with context.wrap_socket(plain, server_hostname=host) as secure:
        print(secure.version(), secure.recv(16).decode())
