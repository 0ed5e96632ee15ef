"""The page of `anyhook ui` and the files of `anyhook report`: the same views, served or saved."""
