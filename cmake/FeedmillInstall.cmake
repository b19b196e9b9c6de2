# installation, see tools/
