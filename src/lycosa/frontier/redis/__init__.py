"""The frontier's tables on Redis or Valkey: for as many machines as join, each the owner of some partitions."""
