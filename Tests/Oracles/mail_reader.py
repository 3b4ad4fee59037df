"""What the standard library makes of mails: one JSON object for each file, and every defect that it finds."""
import email, json, sys
from email import policy
found = []
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        mail = email.message_from_binary_file(file, policy=policy.strict)
    sender = mail["from"].addresses[0]
    parts = list(mail.walk())
    defects = [str(d) for part in parts for d in part.defects]
    defects += [str(d) for part in parts for value in part.values() for d in value.defects]
    found.append({
        "subject": str(mail["subject"]), "fromName": sender.display_name, "fromAddress": sender.addr_spec,
        "to": [a.addr_spec for a in mail["to"].addresses], "messageID": str(mail["message-id"]).strip(),
        "date": mail["date"].datetime.isoformat(), "unsubscribe": str(mail["list-unsubscribe"]).strip(),
        "types": [part.get_content_type() for part in parts],
        "text": mail.get_body(("plain",)).get_content(), "html": mail.get_body(("html",)).get_content(),
        "headers": len(mail.keys()), "defects": defects,
    })
print(json.dumps(found))
