-- What the web process (tetraodon_web) and the workers (tetraodon_worker) may do on Postgres. Run it as the owner of the
-- tables, who is neither, once `tetraodon account` has made them and the roles are there, and again after an upgrade:
--   tetraodon ledger grant tetraodon_worker --ledger postgresql://owner@db/ledger
--   psql --single-transaction --file deploy/roles.sql postgresql://owner@db/ledger

-- The web process opens data sets and allots; it charges nothing.
GRANT SELECT ON meta, accounts, entries, refusals, keys, chain, waves, corrections, allotments, running TO tetraodon_web;
GRANT INSERT ON accounts, chain, waves, allotments TO tetraodon_web;
GRANT UPDATE (opened) ON accounts TO tetraodon_web;
GRANT UPDATE (allotted_at) ON allotments TO tetraodon_web;
GRANT USAGE ON SEQUENCE allotments_id_seq, server_audit_id_seq TO tetraodon_web;
GRANT SELECT, INSERT, UPDATE, DELETE ON server_people, server_identities, server_sessions, server_tokens TO tetraodon_web;
GRANT SELECT, INSERT, UPDATE ON server_datasets, server_curators, server_requests TO tetraodon_web;
GRANT SELECT, INSERT ON server_audit TO tetraodon_web;

-- Workers charge, by `ledger grant`, and say what became of a request; of accounts and tokens they see nothing.
GRANT SELECT ON server_datasets, server_requests TO tetraodon_worker;
GRANT UPDATE (state, overruns) ON server_datasets TO tetraodon_worker;
GRANT UPDATE (state, leased, attempts, moved, finished, told, note) ON server_requests TO tetraodon_worker;
GRANT SELECT (id), INSERT ON server_audit TO tetraodon_worker;
GRANT USAGE ON SEQUENCE server_audit_id_seq TO tetraodon_worker;
