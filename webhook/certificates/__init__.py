"""Certificate authorities and serving certificates, in memory and in files."""
