extension FeedUpdate {
    /// What a signed-in user says of themselves, by the rules of the feed message of this type, or what is wrong with it.
    ///
    /// `fields` are those of the message without the user, whom the token names. It has no time: it is said now.
    package static func said(
        by user: UserID,
        of app: AppID,
        _ type: FeedType,
        _ fields: JSONObject
    ) -> Result<FeedUpdate, Rejection> {
        var fields = fields
        fields["userId"] = .string(user.text)
        do throws(FieldFault) {
            let change = try FeedChange(type, FieldReader(fields, at: .root))
            return .success(FeedUpdate(app: app, sentAt: nil, change: change))
        } catch {
            return .failure(Rejection(error, app: app, type: nil, id: nil))
        }
    }
}
