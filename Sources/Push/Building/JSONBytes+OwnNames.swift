/// The names under which every client finds what Bellhop itself says of a notification.
extension JSONBytes {
    mutating func addOwnNames(of message: PushMessage) {
        add("type", message.type.text)
        add("notificationId", message.notification.text)
        add("targetId", message.targetID)
        add("route", message.link?.mobile)
        add("link", message.link?.web)
        add("scheme", message.link?.scheme)
        add("venueId", message.venueID)
    }
}

extension PushMessage {
    /// Whether a name is taken by what Bellhop says, so that nothing of the event may stand under it.
    func isOwnName(_ key: String) -> Bool {
        switch key {
        case "type", "notificationId", "dataOmitted": true
        case "targetId": targetID != nil
        case "route", "link": link != nil
        case "scheme": link?.scheme != nil
        case "venueId": venueID != nil
        default: false
        }
    }
}
