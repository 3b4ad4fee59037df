import BellhopRules

/// What the client gets beside the words: Expo's `data`, which takes values of every kind.
///
/// First our own names (`type`, `notificationId`, `targetId`, `venueId`; `route`, `link` and `scheme`, which are where a
/// tap leads on a phone, in a browser and by the app's own URL), then the entries of `metadata`, then the members of
/// `data`, each as it came. Of one name, the first one written stays; `null` and empty names are left out. The
/// notification's id is among them since Expo, too, may deliver twice.
struct ExpoData {
    let message: PushMessage

    /// Writes the members; where the event's own data is left out although there is some, `dataOmitted` says so.
    ///
    /// Past `most` bytes the rest is skipped, since nobody will send it: an event may bring 256 KiB.
    func write(into json: inout JSONBytes, withOwnData: Bool, atMost most: Int) {
        json.addOwnNames(of: message)
        guard withOwnData else {
            if !message.metadata.isEmpty || !message.data.isEmpty { json.add("dataOmitted", true) }
            return
        }
        for member in message.metadata.members where isFree(member) {
            guard json.bytes.count <= most else { return }
            json.add(foreign: member.key, member.value)
        }
        var metadata = IndexedMembers(message.metadata)
        for member in message.data.members where isFree(member) {
            guard json.bytes.count <= most else { return }
            if let said = metadata[member.key], said != .null { continue }
            json.add(foreign: member.key, member.value)
        }
    }

    /// Whether a member may be written: it says something, and under a name that is not ours.
    private func isFree(_ member: JSONObject.Member) -> Bool {
        member.value != .null && !member.key.isEmpty && !message.isOwnName(member.key)
    }
}
