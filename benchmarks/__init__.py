"""Speed, always as a ratio to a peer or a limit that is measured in the same run."""
