-- The log-ins of Bellhop's processes take the rights of one of these roles (SET ROLE, or `options=-c role=…` in the
-- database URL). Roles belong to the whole server while schemas are many, so two migrations may race to create them.
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

-- Whoever migrates may act as any of them, and has their rights without asking: what runs with the owner's rights is bound by
-- row-level security as they are. Who has created a role is a member of it without that (PostgreSQL 16). A superuser can do
-- so anyway.
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
