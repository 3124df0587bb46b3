-- After each `bailiwick migrate`, as the owner: psql -U bailiwick_owner -f grants.sql bailiwick
-- What a gateway needs, and `bailiwick keys` and `publish` with it. It neither changes the schema nor removes a key, rewrites which policy was in
-- force, or replaces the secrets of the installation. It may delete records, since the API deletes archived ones. `load` needs the owner, since it makes a temporary table.
GRANT USAGE ON SCHEMA bailiwick TO bailiwick_gateway;
GRANT SELECT ON ALL TABLES IN SCHEMA bailiwick TO bailiwick_gateway;
GRANT INSERT ON bailiwick.secrets, bailiwick.activations, bailiwick.tombstones TO bailiwick_gateway;
GRANT UPDATE ON bailiwick.changes_head TO bailiwick_gateway;
GRANT INSERT, UPDATE ON bailiwick.record_counts, bailiwick.api_keys, bailiwick.audit_heads, bailiwick.confirmations TO bailiwick_gateway;
GRANT INSERT, DELETE ON bailiwick.changes_pending, bailiwick.changes TO bailiwick_gateway;
GRANT INSERT, UPDATE, DELETE ON bailiwick.records, bailiwick.change_views, bailiwick.kept_answers, bailiwick.audit_outbox, bailiwick.snapshots, bailiwick.snapshot_parts,
  bailiwick.gateways TO bailiwick_gateway;
