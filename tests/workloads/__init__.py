"""Tests of workloads of other projects."""
