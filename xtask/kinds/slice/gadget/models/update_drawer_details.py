class UpdateDrawerDetails(object):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'name': 'str',
            'freeform_tags': 'dict(str, str)',
        }
        self.attribute_map = {
            'name': 'name',
            'freeform_tags': 'freeformTags',
        }

    @property
    def name(self):
        """
        Gets the name.
        """
        return self._name

    @property
    def freeform_tags(self):
        """
        Gets the freeform_tags.
        """
        return self._freeform_tags
