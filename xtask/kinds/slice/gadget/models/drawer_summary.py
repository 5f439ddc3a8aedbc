class DrawerSummary(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'name': 'str',
            'created_by': 'str',
        }
        self.attribute_map = {
            'name': 'name',
            'created_by': 'createdBy',
        }

    @property
    def name(self):
        """
        **[Required]** Gets the name.
        """
        return self._name

    @property
    def created_by(self):
        """
        **[Required]** Gets the created_by.
        """
        return self._created_by
