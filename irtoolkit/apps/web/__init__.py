"""Common parts of the web applications: access control, the server, and files of a page."""
