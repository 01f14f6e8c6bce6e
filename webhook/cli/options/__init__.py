"""What options say that several commands take."""
