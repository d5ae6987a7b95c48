"""Where the bytes of stored files are: encrypted, on a disk or in storage that speaks S3's API."""
