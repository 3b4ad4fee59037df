import Postgres

/// Lets a test write rows of the inbox and the ledger in the form of the views.
///
/// The product writes the tables. A test's rows are easier to read as `state = 'deferred'` and `user_id = 'u1'`. Ids
/// that no Bellhop program would create represent numbers, too.
enum RawRows {
    static let setUp = """
        CREATE FUNCTION raw_person(wanted_app text, wanted_user text) RETURNS bigint LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO people (app, user_id) VALUES (wanted_app, wanted_user) ON CONFLICT DO NOTHING;
            RETURN (SELECT number FROM people WHERE app = wanted_app AND user_id = wanted_user);
        END $$;
        CREATE FUNCTION raw_letter(state text) RETURNS "char" LANGUAGE sql AS $$
            SELECT letter::"char" FROM unnest('{p,s,r,w,a,d,x,e,f,u}'::text[]) AS letter
            WHERE delivery_state(letter::"char") = state
        $$;
        CREATE FUNCTION raw_id(name text) RETURNS bigint LANGUAGE sql AS $$
            SELECT coalesce(notification_number(name), hashtextextended(name, 0))
        $$;
        CREATE FUNCTION raw_target(name text) RETURNS bigint LANGUAGE sql AS $$
            SELECT coalesce(target_number(name), hashtextextended(name, 0))
        $$;

        CREATE FUNCTION raw_notification() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN
                INSERT INTO inbox (person, id, event_id, content_hash, type, title, body, urgency, venue_id,
                                   link_web, link_mobile, link_scheme, data, read_at, created_at, extras, collapse_key)
                VALUES (raw_person(NEW.app, NEW.user_id), raw_id(NEW.id), NEW.event_id, NEW.content_hash, NEW.type,
                        NEW.title, NEW.body, CASE NEW.priority WHEN 'high' THEN 0 WHEN 'normal' THEN 1 ELSE 2 END,
                        NEW.venue_id, NEW.link ->> 'web', NEW.link ->> 'mobile', NEW.link ->> 'scheme', NEW.data,
                        NEW.read_at, coalesce(NEW.created_at, now()), NEW.extras, coalesce(NEW.collapse_key, NEW.extras ->> 'collapseKey'));
            ELSE
                UPDATE inbox SET title = NEW.title, body = NEW.body, read_at = NEW.read_at, created_at = NEW.created_at
                WHERE person = raw_person(OLD.app, OLD.user_id) AND id = raw_id(OLD.id);
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER raw INSTEAD OF INSERT OR UPDATE ON notifications
            FOR EACH ROW EXECUTE FUNCTION raw_notification();

        CREATE FUNCTION raw_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'INSERT' THEN
                INSERT INTO ledger (person, id, target, state, reason, attempts, provider_message_id, due_at, decision,
                                    updated_at, claim, unknown_sends, urgency, sent_at, outlet, queued_at)
                VALUES (raw_person(NEW.app, NEW.user_id), raw_id(NEW.notification_id), raw_target(NEW.target),
                        raw_letter(NEW.state), NEW.reason, coalesce(NEW.attempts, 0), NEW.provider_message_id,
                        NEW.due_at, NEW.decision, coalesce(NEW.updated_at, now()), NEW.claim,
                        coalesce(NEW.unknown_sends, 0), coalesce(NEW.urgency, 1), NEW.sent_at, NEW.outlet,
                        NEW.queued_at);
            ELSE
                UPDATE ledger
                SET state = raw_letter(NEW.state), reason = NEW.reason, attempts = NEW.attempts,
                    provider_message_id = NEW.provider_message_id, due_at = NEW.due_at, decision = NEW.decision,
                    updated_at = NEW.updated_at, sent_at = NEW.sent_at, outlet = NEW.outlet,
                    queued_at = NEW.queued_at
                WHERE person = raw_person(OLD.app, OLD.user_id) AND id = raw_id(OLD.notification_id)
                  AND target = raw_target(OLD.target);
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER raw INSTEAD OF INSERT OR UPDATE ON deliveries
            FOR EACH ROW EXECUTE FUNCTION raw_delivery();
        """
}
