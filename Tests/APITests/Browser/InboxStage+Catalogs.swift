import BellhopRules
import IntegrationSupport

extension InboxStage {
    /// Drop with two tags, and with buttons at log-ins.
    static func showcase() throws -> CatalogSet {
        let tags = #"tags: { money: { nb: "Penger" }, safety: { nb: "Sikkerhet" } }, types: {"#
        let security = #"""
            label: { nb: "Sikkerhet" }, tags: ["safety"],
            actions: [
              { label: { nb: "Det var meg" }, link: { web: "/me", mobile: "/me" } },
              { label: { nb: "Sperr kontoen" }, link: { web: "/lock", mobile: "/lock" } },
            ],
            """#
        let text = try ServerFixture.changed("drop", replacing: "types: {", with: tags)
            .replacing(#"label: { nb: "QR-betalinger" },"#, with: #"label: { nb: "QR-betalinger" }, tags: ["money"],"#)
            .replacing(#"label: { nb: "Sikkerhet" },"#, with: security)
        return try CatalogSet.load(files: [("drop.json5", Array(text.utf8))]).get()
    }

    /// Drop with mails of payments and transfers, of which the user may choose.
    static func mailed() throws -> CatalogSet {
        let text = try ServerFixture.changed(
            "drop",
            replacing: "push: true, email: false",
            with: "push: true, email: true"
        )
        return try CatalogSet.load(files: [("drop.json5", Array(text.utf8))]).get()
    }

    /// Drop with two tags, and with buttons at payments and log-ins.
    static func buttonsAndTags() throws -> CatalogSet {
        let tags = #"tags: { money: { nb: "Penger" }, safety: { nb: "Sikkerhet" } }, types: {"#
        let payment = #"""
            label: { nb: "QR-betalinger" }, tags: ["money"],
            actions: [{ label: { nb: "Se kvitteringen" }, link: { web: "/receipt", mobile: "/receipt" } }],
            """#
        let security = #"""
            label: { nb: "Sikkerhet" }, tags: ["safety"],
            actions: [
              { label: { nb: "Det var meg" }, link: { web: "/me", mobile: "/me" } },
              { label: { nb: "Sperr kontoen" }, link: { web: "/lock", mobile: "/lock" } },
              { label: { nb: "Les mer om hvordan du beskytter kontoen din mot ukjente enheter" },
                link: { web: "/help", mobile: "/help" } },
            ],
            """#
        let text = try ServerFixture.changed("drop", replacing: "types: {", with: tags)
            .replacing(#"label: { nb: "QR-betalinger" },"#, with: payment)
            .replacing(#"label: { nb: "Sikkerhet" },"#, with: security)
        return try CatalogSet.load(files: [("drop.json5", Array(text.utf8))]).get()
    }
}
