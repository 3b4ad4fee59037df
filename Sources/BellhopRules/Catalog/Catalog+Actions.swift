extension Catalog {
    /// Whether any type has buttons.
    package var hasActions: Bool { types.contains { !$0.actions.isEmpty } }

    /// Returns the buttons of a stored notification.
    ///
    /// They are those of the present catalogue. A button that lacks a value, or that a value makes too long, is left out:
    /// the notification is worth showing without it.
    package func actions(
        of type: EventType,
        data: JSONObject,
        targetID: String?,
        venueID: String?,
        language: LanguageTag?
    ) -> [NotificationAction] {
        guard let templates = self[type]?.actions, !templates.isEmpty else { return [] }
        let values = TemplateValues(data: data, targetID: targetID, venueID: venueID)
        return templates.compactMap { template in
            var renderer = TemplateRenderer(values)
            let words = template.label.words(for: language, otherwise: self.language)
            guard let label = words.map({ renderer.text(of: $0.title) }), renderer.faults.isEmpty,
                label.hasLength(1...FieldLimits.title),
                let link = renderer.link(of: template.link), link.isShort
            else { return nil }
            return NotificationAction(label: label, link: link)
        }
    }
}

extension DeepLink {
    /// Whether each target has the length of a route.
    fileprivate var isShort: Bool {
        [web, mobile, scheme ?? ""].allSatisfy { $0.utf8.count <= FieldLimits.route }
    }
}
