"""TLS: the settings and the certificate to serve with, and which clients may ask."""
