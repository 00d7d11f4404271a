"""The frontier's tables in RocksDB: for one parent process on one machine, durable, larger than memory."""
