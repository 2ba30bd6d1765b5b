// A box.
