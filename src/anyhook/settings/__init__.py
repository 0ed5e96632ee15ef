"""Where hooks come from: files and layers, their diagnostics, and edits that keep comments."""
