/// The HTML part of a mail: one column, readable without style sheets and images, by screen readers and in dark mode.
///
/// Mail programs support different features. Essential styles are therefore in the elements. The style sheet, which
/// some programs discard, only adds the dark colours and the narrow layout.
struct EmailHTML {
    let content: EmailContent

    /// The lines without line ends.
    var lines: [String] {
        let language = Self.escaped(content.language)
        let direction = content.isRightToLeft ? "rtl" : "ltr"
        return head(language, direction) + top(language) + words + button + footer
            + ["</div>", "</div>", "</body>", "</html>"]
    }

    private func head(_ language: String, _ direction: String) -> [String] {
        [
            "<!DOCTYPE html>", #"<html lang="\#(language)" dir="\#(direction)">"#, "<head>", #"<meta charset="utf-8">"#,
            #"<meta name="viewport" content="width=device-width, initial-scale=1">"#,
            #"<meta name="color-scheme" content="light dark">"#,
            #"<meta name="supported-color-schemes" content="light dark">"#,
            "<title>\(Self.escaped(content.title))</title>", "<style>", ":root { color-scheme: light dark; }",
            "@media (max-width: 480px) { .sheet { padding: 16px !important; border-radius: 0 !important; } }",
            "@media (prefers-color-scheme: dark) {",
            ".back { background-color: #121212 !important; color: #f2f2f2 !important; }",
            ".sheet { background-color: #1e1e1e !important; }",
            ".quiet, .quiet a { color: #b8b8b8 !important; }",
            ".button { background-color: #f2f2f2 !important; color: #121212 !important; }", "}", "</style>", "</head>",
        ]
    }

    private func top(_ language: String) -> [String] {
        let font = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
        let back =
            "margin:0;padding:16px 0;background-color:#f2f2f2;color:#1a1a1a;\(font);font-size:16px;line-height:1.5"
        let sheet = "max-width:560px;margin:0 auto;padding:32px;background-color:#ffffff;border-radius:8px"
        return [
            #"<body class="back" style="\#(back)">"#,
            #"<div role="article" aria-roledescription="email" aria-label="\#(Self.escaped(content.title))" lang="\#(language)">"#,
            #"<div class="sheet" style="\#(sheet)">"#,
            #"<p class="quiet" dir="auto" style="margin:0 0 16px;color:#595959">\#(Self.escaped(content.appName))</p>"#,
            #"<h1 dir="auto" style="margin:0 0 16px;font-size:22px;line-height:1.3">\#(Self.escaped(content.title))</h1>"#,
        ]
    }

    /// The paragraphs; a blank line ends a paragraph, a single line break ends a line.
    private var words: [String] {
        content.paragraphs.map { paragraph in
            let text = paragraph.map(Self.escaped).joined(separator: "<br>")
            return #"<p dir="auto" style="margin:0 0 16px;overflow-wrap:anywhere">\#(text)</p>"#
        }
    }

    private var button: [String] {
        guard let link = content.link else { return [] }
        let style =
            "display:inline-block;padding:12px 24px;border-radius:6px;background-color:#1a1a1a;color:#ffffff;"
            + "font-weight:600;text-decoration:none"
        let words = Self.escaped(content.phrases.open)
        let language = content.phrases.language
        return [
            #"<p style="margin:24px 0"><a class="button" href="\#(Self.escaped(link))" style="\#(style)""#,
            #" lang="\#(language)">\#(words)</a></p>"#,
        ]
    }

    private var footer: [String] {
        let phrases = content.phrases
        let style = "margin:32px 0 0;font-size:13px;color:#595959"
        return [
            #"<p class="quiet" lang="\#(phrases.language)" dir="ltr" style="\#(style)">"#,
            Self.escaped(phrases.reason(appName: content.appName)) + "<br>",
            #"<a href="\#(Self.escaped(content.unsubscribeLink))" style="color:#595959">"#,
            Self.escaped(phrases.unsubscribe) + "</a></p>",
        ]
    }

    /// Returns text that is safe between tags and inside an attribute's quotes.
    private static func escaped(_ text: String) -> String {
        var output = ""
        output.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }
}
