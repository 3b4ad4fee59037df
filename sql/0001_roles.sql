-- The log-ins of Bellhop's processes use the rights of one of these roles (SET ROLE, or `options=-c role=…` in the
-- database URL). Roles belong to the whole server, which may have several schemas, so two migrations may create them at
-- the same time.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['bellhop_worker', 'bellhop_api', 'bellhop_admin'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN NOBYPASSRLS', wanted);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;

-- The migrating log-in becomes a member of every role and inherits its rights: row-level security also applies to
-- functions that run with the owner's rights. The creator of a role is a member without its rights (PostgreSQL 16). A
-- superuser needs no membership.
DO $$
DECLARE
    granted text;
BEGIN
    FOREACH granted IN ARRAY ARRAY['bellhop_worker', 'bellhop_api', 'bellhop_admin'] LOOP
        BEGIN
            IF NOT pg_has_role(current_user, granted, 'USAGE') THEN
                EXECUTE format('GRANT %I TO %I', granted, current_user);
            END IF;
        EXCEPTION WHEN unique_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;

DO $$
BEGIN
    EXECUTE format(
        'GRANT USAGE ON SCHEMA %I TO bellhop_worker, bellhop_api, bellhop_admin', current_schema()
    );
END
$$;
