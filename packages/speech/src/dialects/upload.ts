/** The one way a dialect takes a recording in: spooled to disk, checked for being there, removed when all is said. */
