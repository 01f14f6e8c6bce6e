"""What policy manifests declare: their types, versions and expressions, read into a model."""
