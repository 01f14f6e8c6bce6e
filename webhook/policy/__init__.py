"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: load them, match requests, evaluate, change, test."""
