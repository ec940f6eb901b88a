"""What pages in a browser share: who may ask, running a server, and files of a page."""
