"""Checks references between objects: whether their target exists and fits.

The API server accepts a pod whose claim, template or class does not exist, is misspelt, or is in another namespace; the
pod then stays pending. Each rule here checks one object against the objects around it.
"""
