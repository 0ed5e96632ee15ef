"""The panel of `anyhook hooks`, made with `textual`, the extra `panel`.

Whatever it does is done by the functions of the commands: what a screen prints, they print to it.
"""
