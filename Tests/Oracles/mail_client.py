"""Speaks with a mail server step by step and writes the codes of its replies; 0 where it left instead."""
import json, smtplib, ssl, sys
steps = json.loads(sys.argv[4])
server = smtplib.SMTP(sys.argv[1], int(sys.argv[2]), timeout=60)
codes = []
for kind, *words in steps:
    try:
        if kind == "say":
            reply = server.docmd(words[0])
        elif kind == "starttls":
            reply = server.starttls(context=ssl.create_default_context(cafile=sys.argv[3]))
        elif kind == "login":
            reply = server.login(*words)
        else:
            server.send(words[0].encode("latin-1"))
            reply = server.getreply()
        codes.append(reply[0])
    except smtplib.SMTPServerDisconnected:
        codes.append(0)
        break
    except smtplib.SMTPResponseException as error:
        codes.append(error.smtp_code)
print(json.dumps(codes))
