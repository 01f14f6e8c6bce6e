"""HTTP: connections with deadlines and bounds, reviews and pages."""
