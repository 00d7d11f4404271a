"""The frontier's tables in RocksDB: for one session on one machine, durable, larger than memory."""
