"""What follows from the declarations of API types, besides validation.

Written against the declarations only: nothing in here knows a kind, a version or a field by name.
"""
