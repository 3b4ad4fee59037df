// Opens the room; its contents follow.
