-- Keys of Kerberos principals.

ALTER TABLE credentials
    DROP CONSTRAINT credentials_kind,
    ADD CONSTRAINT credentials_kind
        CHECK (kind IN ('password', 'bearerToken', 'clientCertificate', 'awsKeys', 'keytab'));
