"""From a checked tree to a program, and the values that programs work on."""
