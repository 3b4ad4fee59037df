/// What templates are filled from.
struct TemplateValues {
    let data: JSONObject
    var targetID: String?
    var venueID: String?
}

extension TemplateValues {
    init(_ content: EventContent) {
        self.init(data: content.data, targetID: content.targetID, venueID: content.venueID)
    }
}
