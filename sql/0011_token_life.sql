-- Devices that nobody has heard of for so long get nothing any more: their tokens are most likely dead, and providers
-- think ill of those who keep sending to dead ones. A device that registers again lives again.
CREATE FUNCTION revoke_stale_push_subscriptions(days integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    revoked bigint;
BEGIN
    IF days IS NULL OR days < 1 THEN
        RAISE EXCEPTION 'days must be at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE push_subscriptions SET revoked_at = now(), revoke_reason = 'stale'
    WHERE revoked_at IS NULL AND last_seen_at < now() - make_interval(days => days);
    GET DIAGNOSTICS revoked = ROW_COUNT;
    RETURN revoked;
END
$$;
REVOKE EXECUTE ON FUNCTION revoke_stale_push_subscriptions(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION revoke_stale_push_subscriptions(integer) TO bellhop_worker, bellhop_admin;
COMMENT ON FUNCTION revoke_stale_push_subscriptions(integer) IS
    'Ends subscriptions that were not seen for so many days; answers with how many. For pg_cron, or bellhop revoke-stale.';
