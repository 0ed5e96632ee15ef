"""Programs for those who change anyhook; they are not part of the package."""
