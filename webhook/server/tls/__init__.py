"""TLS: settings, the serving certificate, client certificates."""
