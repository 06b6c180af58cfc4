"""`python -m referee` is the command `referee`."""

from referee.cli import main

if __name__ == "__main__":
    main(prog_name="referee")
