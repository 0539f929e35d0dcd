"""`python -m logiclens`, where the command is not on the path."""

from logiclens.cli import main

if __name__ == "__main__":
    main()
