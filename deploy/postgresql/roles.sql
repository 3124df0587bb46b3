-- Once, as a superuser: psql -f roles.sql. Two roles: the owner runs `bailiwick migrate`, and gateways run as the other one.
-- Give them passwords (\password bailiwick_owner) or certificates, and let pg_hba.conf accept them from where they run.
CREATE ROLE bailiwick_owner LOGIN;
CREATE ROLE bailiwick_gateway LOGIN;
CREATE DATABASE bailiwick OWNER bailiwick_owner;
REVOKE ALL ON DATABASE bailiwick FROM PUBLIC;
GRANT CONNECT ON DATABASE bailiwick TO bailiwick_gateway;
