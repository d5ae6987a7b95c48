"""What stands around Django's views: middleware, uploads in forms, addresses without a view."""
