"""Derives from API types: conversion, defaults, merging, CEL types.

Written against the declarations only: nothing in here knows a kind, a version or a field by name.
"""
