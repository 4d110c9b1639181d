-- oldest-program: 0.1.0
-- What a reason leaves open: a code of the verifier of certificates, of the parent proxy, of a secret that cannot be read.

ALTER TABLE connection_ends ADD COLUMN code text;
ALTER TABLE exchanges ADD COLUMN code text;
