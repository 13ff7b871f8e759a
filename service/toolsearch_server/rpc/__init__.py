"""The gRPC edge: requests in, answers and statuses out. Only this package and server.py know gRPC."""
